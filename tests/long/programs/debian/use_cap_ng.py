# packages: python3-cap-ng
import capng

assert capng.capng_name_to_capability("net_admin") == capng.CAP_NET_ADMIN == 12
capng.capng_clear(capng.CAPNG_SELECT_BOTH)
capng.capng_update(capng.CAPNG_ADD, capng.CAPNG_EFFECTIVE, capng.CAP_CHOWN)
assert capng.capng_print_caps_text(capng.CAPNG_PRINT_BUFFER, capng.CAPNG_EFFECTIVE).strip() == "chown"
