# packages: python3-audit
import audit
import auparse

assert audit.audit_name_to_syscall("openat", audit.audit_detect_machine()) == 257
parser = auparse.AuParser(auparse.AUSOURCE_BUFFER, "type=USER msg=audit(1160421602.000:1): pid=42 uid=0 res=success\n")
assert parser.parse_next_event() and parser.first_record()
assert parser.find_field("pid") == "42" and parser.interpret_field() == "42"
