# packages: python3-vtk9
import tempfile

import vtk
from vtk.util import numpy_support

folder = tempfile.mkdtemp(dir=".")
sphere = vtk.vtkSphereSource()
sphere.SetThetaResolution(16)
sphere.SetPhiResolution(16)
events = []
sphere.AddObserver("EndEvent", lambda caller, event: events.append(event))
mass = vtk.vtkMassProperties()
triangles = vtk.vtkTriangleFilter()
triangles.SetInputConnection(sphere.GetOutputPort())
mass.SetInputConnection(triangles.GetOutputPort())
mass.Update()
assert abs(mass.GetVolume() - 0.4987) < 0.03 and events == ["EndEvent"], mass.GetVolume()
points = numpy_support.vtk_to_numpy(sphere.GetOutput().GetPoints().GetData())
assert points.shape == (226, 3) and abs((points**2).sum(1) - 0.25).max() < 1e-5
writer = vtk.vtkXMLPolyDataWriter()
writer.SetFileName(folder + "/sphere.vtp")
writer.SetInputData(sphere.GetOutput())
assert writer.Write() == 1
contour = vtk.vtkContourFilter()
wave = vtk.vtkRTAnalyticSource()
contour.SetInputConnection(wave.GetOutputPort())
contour.SetValue(0, 150)
contour.Update()
assert contour.GetOutput().GetNumberOfPoints() > 100
