# packages: python3-ldns
import ldns

record = ldns.ldns_rr.new_frm_str("www.test. 300 IN A 192.0.2.1")
assert record.get_type_str() == "A" and record.ttl() == 300 and str(record.rdf(0)) == "192.0.2.1"
packet = ldns.ldns_pkt.new_query_frm_str("test.", ldns.LDNS_RR_TYPE_MX, ldns.LDNS_RR_CLASS_IN, ldns.LDNS_RD)
assert "MX" in str(packet)
