# packages: python3-sklearn
import json
import subprocess
import sys

import numpy
from sklearn import cluster, datasets, decomposition, ensemble, linear_model, neighbors, svm
from threadpoolctl import threadpool_info, threadpool_limits

# The pools of BLAS and OpenMP that it limits around its own: those that python3 has with the same modules.
LIST = "import json, sklearn.svm, sklearn.ensemble, threadpoolctl; print(json.dumps(threadpoolctl.threadpool_info()))"


def pools(infos):
    return sorted((info["user_api"], info["filepath"]) for info in infos)


found = pools(threadpool_info())
answer = subprocess.run([sys.executable, "-c", LIST], capture_output=True, text=True, check=True).stdout
assert found == pools(json.loads(answer)), (found, answer)
assert "openmp" in dict(found), found
# OpenMP has a limit for each thread; that of a shared BLAS another interpreter may be lifting.
with threadpool_limits(1):
    limits = [info["num_threads"] for info in threadpool_info() if info["user_api"] == "openmp"]
    assert limits and set(limits) == {1}, limits

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
