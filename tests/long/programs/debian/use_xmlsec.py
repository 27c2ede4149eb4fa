# packages: python3-xmlsec python3-lxml
import xmlsec
from lxml import etree

root = etree.fromstring("<root><a>text</a></root>")
signature = xmlsec.template.create(root, xmlsec.Transform.EXCL_C14N, xmlsec.Transform.HMAC_SHA256)
root.append(signature)
reference = xmlsec.template.add_reference(signature, xmlsec.Transform.SHA256)
xmlsec.template.add_transform(reference, xmlsec.Transform.ENVELOPED)


def context():
    result = xmlsec.SignatureContext()
    result.key = xmlsec.Key.from_binary_data(xmlsec.KeyData.HMAC, b"secret")
    return result


context().sign(signature)
context().verify(signature)
root[0].text = "other"
try:
    context().verify(signature)
except xmlsec.VerificationError:
    pass
else:
    raise AssertionError("verified what was changed")
