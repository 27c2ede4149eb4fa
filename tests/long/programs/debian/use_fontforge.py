# packages: python3-fontforge
import tempfile

import fontforge
import psMat

folder = tempfile.mkdtemp(dir=".")
font = fontforge.font()
font.familyname = font.fontname = "Mine"
glyph = font.createChar(65, "A")
pen = glyph.glyphPen()
for step, point in enumerate([(0, 0), (500, 0), (250, 700)]):
    (pen.lineTo if step else pen.moveTo)(point)
pen.closePath()
pen = None
assert glyph.boundingBox() == (0, 0, 500, 700)
font.generate(f"{folder}/mine.ttf")
assert fontforge.open(f"{folder}/mine.ttf")["A"].unicode == 65
assert psMat.scale(2) == (2, 0, 0, 2, 0, 0)
