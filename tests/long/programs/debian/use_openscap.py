# packages: python3-openscap
import openscap_py as openscap

name = openscap.cpe_name_new("cpe:/o:debian:debian_linux:12")
assert openscap.cpe_name_get_vendor(name) == "debian" and openscap.cpe_name_get_version(name) == "12"
assert openscap.cpe_name_get_as_str(name) == "cpe:/o:debian:debian_linux:12"
assert openscap.cpe_name_match_one(name, openscap.cpe_name_new("cpe:/o:debian:debian_linux:12"))
