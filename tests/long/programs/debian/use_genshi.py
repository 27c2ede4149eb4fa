# packages: python3-genshi
from genshi import _speedups, escape
from genshi.template import MarkupTemplate

assert str(_speedups.Markup.escape("<&>")) == str(escape("<&>")) == "&lt;&amp;&gt;"
template = MarkupTemplate('<p xmlns:py="http://genshi.edgewall.org/"><b py:for="i in n">${i}</b></p>')
assert template.generate(n=["<", 2]).render() == "<p><b>&lt;</b><b>2</b></p>"
