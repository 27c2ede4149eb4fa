# packages: python3-uno
import uno

context = uno.getComponentContext()
create = context.ServiceManager.createInstanceWithContext
parsed = create("com.sun.star.uri.UriReferenceFactory", context).parse("http://example.org/a%20b?x=1")
assert parsed.getScheme() == "http" and parsed.getQuery() == "x=1" and parsed.getPathSegment(0) == "a%20b"
value = uno.createUnoStruct("com.sun.star.beans.PropertyValue")
value.Name, value.Value = "head", (1, 2.5, "three")
assert value.Value == (1, 2.5, "three")
converter = create("com.sun.star.script.Converter", context)
assert converter.convertTo("42", uno.getTypeByName("long")) == 42
try:
    converter.convertTo("nonsense", uno.getTypeByName("long"))
except uno.getClass("com.sun.star.script.CannotConvertException"):
    pass
else:
    raise AssertionError("converted nonsense")
