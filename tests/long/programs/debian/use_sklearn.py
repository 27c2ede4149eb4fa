# packages: python3-sklearn
import numpy
from sklearn import cluster, datasets, decomposition, ensemble, linear_model, neighbors, svm

points, kinds = datasets.load_iris(return_X_y=True)
assert svm.SVC().fit(points, kinds).score(points, kinds) > 0.95
assert ensemble.RandomForestClassifier(20, random_state=0, n_jobs=2).fit(points, kinds).score(points, kinds) > 0.95
assert ensemble.HistGradientBoostingClassifier(max_iter=10).fit(points, kinds).score(points, kinds) > 0.95
assert neighbors.KNeighborsClassifier().fit(points, kinds).predict(points[:1])[0] == 0
assert sorted(numpy.bincount(cluster.KMeans(3, n_init=2, random_state=0).fit(points).labels_))[0] > 30
assert linear_model.LogisticRegression(max_iter=500).fit(points, kinds).score(points, kinds) > 0.95
assert abs(decomposition.PCA(2).fit(points).explained_variance_ratio_[0] - 0.9246) < 1e-3
try:
    svm.SVC().fit(points, kinds[:5])
except ValueError as error:
    assert "inconsistent" in str(error), error
else:
    raise AssertionError("fitted five kinds to all points")
