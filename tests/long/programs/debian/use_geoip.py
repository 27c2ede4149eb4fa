# packages: python3-geoip
import GeoIP

try:
    GeoIP.open("not there", GeoIP.GEOIP_STANDARD)
    raise AssertionError("no exception")
except GeoIP.error:
    pass
assert GeoIP.country_names["IT"] == "Italy" and GeoIP.country_continents["IT"] == "EU"
