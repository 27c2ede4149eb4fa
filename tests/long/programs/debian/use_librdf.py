# packages: python3-librdf
import RDF

model = RDF.Model(RDF.MemoryStorage())
RDF.Parser(name="turtle").parse_string_into_model(model, '<urn:a> <urn:b> "c", "d" .', "urn:base")
assert model.size() == 2
query = RDF.SPARQLQuery("SELECT ?o WHERE { <urn:a> <urn:b> ?o }")
assert sorted(str(row["o"]) for row in query.execute(model)) == ["c", "d"]
assert '"c"' in RDF.NTriplesSerializer().serialize_model_to_string(model)
