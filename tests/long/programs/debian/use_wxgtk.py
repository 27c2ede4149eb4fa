# packages: python3-wxgtk4.0
import tempfile

import wx

folder = tempfile.mkdtemp(dir=".")
assert wx.Point(1, 2) + wx.Point(3, 4) == wx.Point(4, 6) and wx.Rect(0, 0, 5, 5).Contains(wx.Point(2, 2))
image = wx.Image(8, 8)
image.SetRGB(wx.Rect(0, 0, 8, 8), 10, 20, 30)
assert image.Scale(4, 4).GetRed(1, 1) == 10 and image.SaveFile(folder + "/image.png", wx.BITMAP_TYPE_PNG)
assert wx.DateTime.FromDMY(22, 10, 2026).FormatISODate() == "2026-11-22"
