# packages: python3-aubio
import aubio
import numpy

note = numpy.sin(2 * numpy.pi * 440 * numpy.arange(4096) / 44100).astype(aubio.float_type)
assert abs(aubio.pitch("yin", 4096, 4096, 44100)(note)[0] - 440) < 1
spectrum = aubio.fft(1024)(note[:1024])
assert spectrum.norm.argmax() == round(440 * 1024 / 44100)
assert round(float(aubio.freqtomidi(440))) == 69
