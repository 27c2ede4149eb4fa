# packages: python3-apt
import apt_pkg

apt_pkg.init()
assert apt_pkg.version_compare("1.2~rc1", "1.2") < 0
section = apt_pkg.TagSection("Package: one\nDepends: two (>= 3), four | five\n")
assert apt_pkg.parse_depends(section["Depends"]) == [[("two", "3", ">=")], [("four", "", ""), ("five", "", "")]]
cache = apt_pkg.Cache(None)
assert cache["libc6"].current_ver.ver_str.startswith("2."), cache["libc6"]
