# packages: python3-pikepdf
import tempfile

import pikepdf

folder = tempfile.mkdtemp(dir=".")
with pikepdf.new() as pdf:
    pdf.add_blank_page(page_size=(200, 100))
    pdf.docinfo["/Title"] = "gorgon"
    pdf.pages[0].Contents = pdf.make_stream(b"0 0 10 10 re f")
    pdf.save(folder + "/file.pdf", encryption=pikepdf.Encryption(owner="a", user="b"))
with pikepdf.open(folder + "/file.pdf", password="b") as pdf:
    assert len(pdf.pages) == 1 and str(pdf.docinfo["/Title"]) == "gorgon"
    operators = [str(operator) for operands, operator in pikepdf.parse_content_stream(pdf.pages[0])]
    assert operators == ["re", "f"], operators
try:
    pikepdf.open(folder + "/file.pdf", password="wrong")
except pikepdf.PasswordError:
    pass
else:
    raise AssertionError("opened without the password")
