# packages: python3-yara
import tempfile

import yara

folder = tempfile.mkdtemp(dir=".")
rules = yara.compile(source='rule gorgon { meta: heads = 3 strings: $a = "medusa" nocase $b = /st[ho]+eno/ '
                            'condition: any of them }')
called = []
matches = rules.match(data=b"the MEDUSA and stheno", which_callbacks=yara.CALLBACK_MATCHES,
                      callback=lambda match: called.append(match["rule"]) or yara.CALLBACK_CONTINUE)
assert called == ["gorgon"] and matches[0].meta == {"heads": 3} and len(matches[0].strings) == 2
rules.save(folder + "/rules")
assert yara.load(folder + "/rules").match(data="nothing") == []
try:
    yara.compile(source="rule nonsense {")
except yara.SyntaxError as error:
    assert "syntax error" in str(error), error
else:
    raise AssertionError("compiled nonsense")
