"""Signals, images, transforms and curves through data."""

from __future__ import annotations

from tests.scientist.snippet import snippet

X4 = [0.7, 1.3, 2.1, 0.4]
X6, X8 = [0.3, 1.2, 0.8, 2.0, 1.5, 0.6], [0.3, 1.2, 0.8, 2.0, 1.5, 0.6, 0.9, 1.1]
TAPS, POLES = [0.2, 0.3, 0.1], [1.0, -0.4, 0.1]


@snippet(X8)
def spectrum_numpy(np, scipy, x):
    return np.sum(np.abs(np.fft.rfft(x)) ** 4)


@snippet(X8)
def spectrum_scipy(np, scipy, x):
    return np.sum(np.abs(scipy.fft.fft(x)) ** 4)


@snippet(X8)
def low_pass_by_fourier(np, scipy, x):
    f = scipy.fft.rfft(x)
    keep = np.arange(5) < 3
    return np.sum(scipy.fft.irfft(f * keep) ** 3)


@snippet(X8)
def cosine_transform(np, scipy, x):
    return np.sum(scipy.fft.dct(x, norm="ortho") ** 3)


@snippet(X8)
def compressed(np, scipy, x):
    c = scipy.fft.dct(x, type=2)
    c = np.where(np.abs(c) > 1.0, c, 0.0)
    return np.sum((scipy.fft.idct(c) - x) ** 2)


@snippet(X8)
def sine_transform(np, scipy, x):
    return np.sum(scipy.fft.dst(x, type=1) ** 2 / np.arange(1, 9))


@snippet(X6)
def two_dimensional_spectrum(np, scipy, x):
    return np.sum(np.abs(scipy.fft.fft2(x.reshape(2, 3))) ** 3)


@snippet(X8)
def spectral_derivative(np, scipy, x):
    k = np.fft.fftfreq(8) * 8
    return np.sum(np.real(np.fft.ifft(1j * k * np.fft.fft(x))) ** 2)


@snippet(X8)
def convolved(np, scipy, x):
    return np.sum(scipy.signal.convolve(x, TAPS, mode="same") ** 2)


@snippet(X8)
def convolved_by_fft(np, scipy, x):
    return np.sum(scipy.signal.fftconvolve(x, x, mode="full") ** 2)


@snippet(X8)
def autocorrelation(np, scipy, x):
    return np.max(scipy.signal.correlate(x - x.mean(), x, mode="same"))


@snippet(X8)
def recursive_filter(np, scipy, x):
    return np.sum(scipy.signal.lfilter(TAPS, POLES, x) ** 2)


@snippet([0.2, 0.3, 0.1, -0.4])
def filter_design(np, scipy, p):
    x = np.sin(np.arange(10.0))
    y = scipy.signal.lfilter(p[:2], np.concatenate([np.ones(1), p[2:]]), x)
    return np.sum((y - np.roll(x, 1)) ** 2)


@snippet(X8)
def second_order_sections(np, scipy, x):
    sos = scipy.signal.butter(2, 0.4, output="sos")
    return np.sum(scipy.signal.sosfilt(sos, x) ** 2)


@snippet(X8 + X8)
def zero_phase_filter(np, scipy, x):
    b, a = scipy.signal.butter(2, 0.4)
    return np.sum(scipy.signal.filtfilt(b, a, x) ** 2)


@snippet(X8)
def smoothed_slope(np, scipy, x):
    return np.sum(scipy.signal.savgol_filter(x, 5, 2, deriv=1) ** 2)


@snippet(X8)
def envelope(np, scipy, x):
    return np.sum(np.abs(scipy.signal.hilbert(x)))


@snippet(X8)
def detrended(np, scipy, x):
    return np.sum(np.abs(scipy.signal.detrend(x)) ** 3)


@snippet(X8)
def exponential_smoothing(np, scipy, x):
    level, total = x[0], 0.0
    for value in x[1:]:
        total = total + (value - level) ** 2
        level = 0.3 * value + 0.7 * level
    return total


@snippet(X8)
def blurred_line(np, scipy, x):
    return np.sum(scipy.ndimage.gaussian_filter1d(x, 1.2) ** 2)


@snippet(X6)
def blurred_image(np, scipy, x):
    return np.sum(scipy.ndimage.gaussian_filter(x.reshape(2, 3), 0.8, mode="nearest") ** 3)


@snippet(X6)
def sharpened_image(np, scipy, x):
    kernel = np.array([[0.0, -1, 0], [-1, 5, -1], [0, -1, 0]])
    return np.sum(scipy.ndimage.convolve(x.reshape(2, 3), kernel, mode="reflect") ** 2)


@snippet(X8)
def box_filter(np, scipy, x):
    return np.sum(scipy.ndimage.uniform_filter1d(x, 3) ** 2)


@snippet(X6)
def image_gradient(np, scipy, x):
    gy, gx = np.gradient(x.reshape(2, 3))
    return np.sum(np.sqrt(gx**2 + gy**2 + 1e-3))


@snippet(X6)
def total_variation(np, scipy, x):
    image = x.reshape(2, 3)
    return np.abs(np.diff(image, axis=0)).sum() + np.abs(np.diff(image, axis=1)).sum()


@snippet(X4)
def spline_values(np, scipy, y):
    s = scipy.interpolate.CubicSpline(np.arange(4.0), y)
    return np.sum(s(np.linspace(0, 3, 7)) ** 2)


@snippet(X4)
def spline_points(np, scipy, t):
    s = scipy.interpolate.CubicSpline(np.arange(4.0), np.array([0.0, 1.0, 0.5, 2.0]))
    return np.sum(s(t) ** 2)


@snippet(X4)
def spline_length(np, scipy, y):
    s = scipy.interpolate.CubicSpline(np.arange(4.0), y, bc_type="natural")
    return np.sum(np.sqrt(1 + s(np.linspace(0, 3, 9), 1) ** 2))


@snippet(X4)
def spline_area(np, scipy, y):
    return scipy.interpolate.CubicSpline(np.arange(4.0), y).integrate(0.5, 2.5)


@snippet(X4)
def monotone_spline(np, scipy, y):
    s = scipy.interpolate.PchipInterpolator(np.arange(4.0), np.cumsum(y))
    return np.sum(s(np.linspace(0, 3, 7)) ** 2)


@snippet(X4)
def straight_lines(np, scipy, y):
    f = scipy.interpolate.interp1d(np.arange(4.0), y)
    return np.sum(f([0.5, 1.2, 2.9]) ** 2)


@snippet(1.3)
def table_at_a_point(np, scipy, t):
    f = scipy.interpolate.interp1d(np.arange(4.0), [0.0, 1.0, 0.5, 2.0], kind="cubic")
    return f(t) ** 2


@snippet(X6)
def grid_of_values(np, scipy, v):
    grid = (np.array([0.0, 1.0]), np.array([0.0, 1.0, 2.0]))
    f = scipy.interpolate.RegularGridInterpolator(grid, v.reshape(2, 3))
    return np.sum(f([[0.5, 0.3], [0.2, 1.7]]) ** 2)


@snippet([0.4, 1.6])
def point_on_a_grid(np, scipy, p):
    grid = (np.array([0.0, 1.0]), np.array([0.0, 1.0, 2.0]))
    f = scipy.interpolate.RegularGridInterpolator(grid, np.array([[0.0, 1, 4], [2, 3, 8]]))
    return f(p)[0] ** 2


@snippet(X4)
def chebyshev_series(np, scipy, c):
    return np.sum(np.polynomial.chebyshev.chebval(np.linspace(-1, 1, 5), c) ** 2)


@snippet(X4)
def fourier_series(np, scipy, c):
    t = np.linspace(0, 1, 9)
    waves = sum(c[k] * np.sin(2 * np.pi * (k + 1) * t) for k in range(4))
    return np.sum(waves**4)


@snippet(0.4)
def chirp(np, scipy, rate):
    t = np.linspace(0, 1, 9)
    return np.sum(np.sin(2 * np.pi * (t + rate * t**2)) ** 3)


@snippet(X8)
def windowed(np, scipy, x):
    return np.sum(np.abs(np.fft.rfft(x * np.hanning(8))) ** 2)


@snippet(X8)
def downsampled(np, scipy, x):
    return np.sum(x.reshape(4, 2).mean(axis=1) ** 3)


@snippet(X8)
def signal_to_noise(np, scipy, x):
    return 10 * np.log10(np.mean(x**2) / np.var(x - np.convolve(x, np.ones(3) / 3, "same")))
