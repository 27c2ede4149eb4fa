# packages: python3-gensim
from gensim import corpora, models
from gensim.models import word2vec_inner  # noqa: F401

texts = [["snake", "python", "adder"], ["boat", "ship", "sail"]] * 30
words = corpora.Dictionary(texts)
assert words.doc2bow(["snake", "snake"])[0][1] == 2
model = models.Word2Vec(texts, vector_size=8, min_count=1, epochs=5, seed=1, workers=2)
assert model.wv["snake"].shape == (8,) and len(model.wv) == 6
topics = models.LsiModel([words.doc2bow(text) for text in texts], num_topics=2)
assert topics.projection.s.shape == (2,)
