# packages: python3-falcon
import falcon
from falcon import testing


class Here:
    def on_get(self, request, response, name):
        response.media = {"name": name, "count": request.get_param_as_int("count", required=True)}


application = falcon.App()
application.add_route("/{name}", Here())
assert falcon.app.__file__.endswith(".so")
client = testing.TestClient(application)
assert client.simulate_get("/there?count=3").json == {"name": "there", "count": 3}
assert client.simulate_get("/there?count=x").status_code == 400
