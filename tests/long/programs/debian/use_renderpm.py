# packages: python3-renderpm python3-reportlab
from reportlab.graphics import _renderPM

gstate = _renderPM.gstate(8, 8, depth=3, bg=0xFFFFFF)
gstate.fillColor = 0xFF0000
gstate.pathBegin()
gstate.moveTo(2, 2)
for x, y in ((6, 2), (6, 6), (2, 6)):
    gstate.lineTo(x, y)
gstate.pathClose()
gstate.pathFill()
pixels = bytes(gstate.pixBuf)
assert pixels[:3] == b"\xff\xff\xff" and pixels[(4 * 8 + 4) * 3:][:3] == b"\xff\0\0"
