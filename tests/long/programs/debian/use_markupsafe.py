# packages: python3-markupsafe
import markupsafe
from markupsafe import _speedups

assert markupsafe.escape is _speedups.escape
text = markupsafe.Markup("<b>%s</b>") % "<a> & 'b'"
assert text == "<b>&lt;a&gt; &amp; &#39;b&#39;</b>", text
