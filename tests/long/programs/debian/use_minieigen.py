# packages: python3-minieigen
import minieigen

matrix = minieigen.Matrix3(2, 0, 0, 0, 4, 0, 0, 0, 5)
assert matrix.determinant() == 40 and matrix.inverse() * minieigen.Vector3(2, 4, 5) == minieigen.Vector3(1, 1, 1)
turn = minieigen.Quaternion((0, 0, 1), 3.141592653589793)
assert (turn * minieigen.Vector3(1, 0, 0) - minieigen.Vector3(-1, 0, 0)).norm() < 1e-12
