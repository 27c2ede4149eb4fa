# packages: python3-pam
import PAM

pam = PAM.pam()
pam.start("other")
pam.set_item(PAM.PAM_USER, "nobody")
assert pam.get_item(PAM.PAM_USER) == "nobody" and pam.get_item(PAM.PAM_SERVICE) == "other"
pam.set_item(PAM.PAM_CONV, lambda auth, query, data: [("", 0)] * len(query))
try:
    pam.authenticate()
except PAM.error as error:
    assert len(error.args) == 2, error
else:
    raise AssertionError("authenticated nobody")
