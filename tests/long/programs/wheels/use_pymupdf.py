# packages: PyMuPDF
import pymupdf

with pymupdf.open() as pdf:
    pdf.new_page().insert_text((72, 72), "Many snakes, one head")
    data = pdf.tobytes()
with pymupdf.open(stream=data) as pdf:
    assert pdf[0].get_text().strip() == "Many snakes, one head"
    assert len(set(pdf[0].get_pixmap().samples)) > 2
