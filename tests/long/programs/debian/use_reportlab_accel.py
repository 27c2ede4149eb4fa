# packages: python3-reportlab-accel python3-reportlab
from reportlab.lib import _rl_accel, rl_accel
from reportlab.pdfbase.pdfmetrics import stringWidth

assert _rl_accel.fp_str(1.5, 2.0, 3.25) == "1.5 2 3.25" and rl_accel.asciiBase85Encode is _rl_accel.asciiBase85Encode
assert _rl_accel.asciiBase85Decode(_rl_accel.asciiBase85Encode("gorgon")) == b"gorgon"
assert _rl_accel.escapePDF("a(b)") == "a\\(b\\)" and abs(stringWidth("Gorgon", "Helvetica", 10) - 33.35) < 0.01
