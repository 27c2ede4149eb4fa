# packages: python3-rcssmin
import _rcssmin
import rcssmin

assert rcssmin.cssmin is _rcssmin.cssmin
assert rcssmin.cssmin("a { color : red ; /* note */ }\n\n b{ }") == "a{color:red}b{}"
