# packages: python3-gdcm
import tempfile

import gdcm

folder = tempfile.mkdtemp(dir=".")
writer = gdcm.Writer()
data = writer.GetFile().GetDataSet()
for tag, kind, value in ((gdcm.Tag(0x10, 0x10), gdcm.VR.PN, "Doe^Jo"), (gdcm.Tag(0x8, 0x18), gdcm.VR.UI, "1.2.3.4.5.6"),
                         (gdcm.Tag(0x8, 0x16), gdcm.VR.UI, "1.2.840.10008.5.1.4.1.1.7")):
    element = gdcm.DataElement(tag)
    element.SetVR(gdcm.VR(kind))
    element.SetByteValue(value, gdcm.VL(len(value)))
    data.Insert(element)
writer.GetFile().GetHeader().SetDataSetTransferSyntax(gdcm.TransferSyntax(gdcm.TransferSyntax.ExplicitVRLittleEndian))
writer.SetFileName(f"{folder}/image.dcm")
assert writer.Write()
reader = gdcm.Reader()
reader.SetFileName(f"{folder}/image.dcm")
assert reader.Read()
names = gdcm.StringFilter()
names.SetFile(reader.GetFile())
assert names.ToStringPair(gdcm.Tag(0x10, 0x10)) == ("Patient's Name", "Doe^Jo")
