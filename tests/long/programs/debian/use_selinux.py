# packages: python3-selinux
import selinux

context = selinux.context_new("user_u:role_r:type_t:s0")
assert selinux.context_type_get(context) == "type_t"
selinux.context_type_set(context, "other_t")
assert selinux.context_str(context) == "user_u:role_r:other_t:s0"
selinux.context_free(context)
assert selinux.selinux_path() == "/etc/selinux/" and selinux.is_selinux_enabled() == 0
try:
    selinux.getfilecon("missing")
except OSError as error:
    assert error.errno == 2, error
else:
    raise AssertionError("a context of a missing file")
