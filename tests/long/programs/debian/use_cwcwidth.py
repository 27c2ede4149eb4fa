# packages: python3-cwcwidth
import cwcwidth

assert cwcwidth.wcswidth("\u86c7!") == 3 and cwcwidth.wcwidth("\u0301") == 0
