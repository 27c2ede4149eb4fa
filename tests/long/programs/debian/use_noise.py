# packages: python3-noise
import noise

values = [noise.pnoise2(x / 7, x / 5, octaves=3) for x in range(100)]
assert noise.pnoise1(0.0) == 0.0 and len(set(values)) > 90 and all(-1 <= value <= 1 for value in values)
assert [noise.pnoise2(x / 7, x / 5, octaves=3) for x in range(100)] == values
assert noise.pnoise3(0.5, 0.25, 0.75, repeatx=2) == noise.pnoise3(2.5, 0.25, 0.75, repeatx=2)
