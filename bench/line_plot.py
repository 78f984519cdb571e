"""Curves with a band as an SVG text: what a figure of a paper shows, without a library.

  text = line_plot("C2", "trials", "times the default", {"random": [(1, 0.9, 0.8, 1.0), (2, 1.1, 1.0, 1.2)]})

Each curve is a list of (x, y, low, high).
"""
from xml.sax.saxutils import escape

COLOURS = ["#1b6ca8", "#d1495b", "#2e933c", "#8a5cd1", "#e08e0b", "#5c5c5c", "#00a6a6"]
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 640, 400, 64, 16, 32, 48


def ticks(low, high, count=5):
    step = (high - low) / count or 1
    return [low + step * i for i in range(count + 1)]


def line_plot(title, x_name, y_name, curves):
    points = [p for curve in curves.values() for p in curve]
    if not points:
        return ""
    x0, x1 = min(p[0] for p in points), max(p[0] for p in points)
    y0, y1 = min(p[2] for p in points), max(p[3] for p in points)
    x1, y1 = max(x1, x0 + 1), max(y1, y0 + 1e-9)

    def at(x, y):
        across = LEFT + (x - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT)
        return f"{across:.1f},{HEIGHT - BOTTOM - (y - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM):.1f}"

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
             f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
             f'<text x="{WIDTH / 2}" y="18" text-anchor="middle" font-size="14">{escape(title)}</text>',
             f'<text x="{WIDTH / 2}" y="{HEIGHT - 8}" text-anchor="middle">{escape(x_name)}</text>',
             f'<text x="14" y="{HEIGHT / 2}" text-anchor="middle" transform="rotate(-90 14 {HEIGHT / 2})">{escape(y_name)}</text>']
    for value in ticks(y0, y1):
        x, y = at(x0, value).split(",")
        parts.append(f'<path d="M{x} {y}H{WIDTH - RIGHT}" stroke="#ddd"/><text x="{LEFT - 4}" y="{y}" text-anchor="end">{value:.3g}</text>')
    for value in ticks(x0, x1):
        x, _ = at(value, y0).split(",")
        parts.append(f'<text x="{x}" y="{HEIGHT - BOTTOM + 16}" text-anchor="middle">{value:.0f}</text>')
    for number, (name, curve) in enumerate(curves.items()):
        if not curve:
            continue
        colour = COLOURS[number % len(COLOURS)]
        band = [at(p[0], p[3]) for p in curve] + [at(p[0], p[2]) for p in reversed(curve)]
        parts.append(f'<polygon points="{" ".join(band)}" fill="{colour}" opacity="0.15"/>')
        parts.append(f'<polyline points="{" ".join(at(p[0], p[1]) for p in curve)}" fill="none" stroke="{colour}" stroke-width="2"/>')
        y = HEIGHT - BOTTOM - 12 - 16 * (len(curves) - 1 - number)
        parts.append(f'<text x="{WIDTH - RIGHT - 8}" y="{y}" text-anchor="end" fill="{colour}">{escape(name)}</text>')
    return "\n".join(parts + ["</svg>"]) + "\n"
