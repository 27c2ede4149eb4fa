# packages: python3-sentencepiece
import random
import tempfile

import sentencepiece

folder = tempfile.mkdtemp(dir=".")
random.seed(1)
words = ["gorgon", "medusa", "stheno", "euryale", "perseus"]
with open(folder + "/text", "w") as file:
    for _ in range(300):
        file.write(" ".join(random.choices(words, k=6)) + "\n")
sentencepiece.SentencePieceTrainer.train(input=folder + "/text", model_prefix=folder + "/m", vocab_size=24,
                                         hard_vocab_limit=False, minloglevel=2)
model = sentencepiece.SentencePieceProcessor(model_file=folder + "/m.model")
pieces = model.encode("medusa perseus", out_type=str)
assert "".join(pieces).replace("\u2581", " ") == " medusa perseus" and model.decode(model.encode("gorgon")) == "gorgon"
try:
    sentencepiece.SentencePieceProcessor(model_file="missing.model")
except OSError as error:
    assert "missing.model" in str(error), error
else:
    raise AssertionError("loaded a missing model")
