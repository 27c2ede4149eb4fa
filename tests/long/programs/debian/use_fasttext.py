# packages: python3-fasttext
import tempfile

import fasttext

folder = tempfile.mkdtemp(dir=".")
with open(f"{folder}/words", "w") as file:
    file.write("__label__good nice fine great\n__label__bad awful poor sad\n" * 200)
model = fasttext.train_supervised(f"{folder}/words", epoch=20, dim=10, thread=2, verbose=0)
assert model.predict("nice great")[0] == ("__label__good",) and model.predict("poor sad")[0] == ("__label__bad",)
model.save_model(f"{folder}/model")
assert fasttext.load_model(f"{folder}/model").get_dimension() == 10
try:
    fasttext.load_model(f"{folder}/not there")
    raise AssertionError("no exception")
except ValueError:
    pass
