# packages: scikit-learn
import numpy
from sklearn.cluster import KMeans
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

rng = numpy.random.default_rng(3)
x = numpy.concatenate([rng.normal(-2, 0.5, (80, 2)), rng.normal(2, 0.5, (80, 2))])
y = numpy.repeat([0, 1], 80)
assert LogisticRegression().fit(x, y).score(x, y) == 1
assert RandomForestClassifier(10, n_jobs=2, random_state=1).fit(x, y).score(x, y) == 1
labels = KMeans(2, n_init=2, random_state=1).fit_predict(x)
assert len(set(labels[:80])) == 1 and len(set(labels)) == 2
