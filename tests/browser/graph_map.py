"""What of a graph is seen, read in the page from the map beside it."""

from __future__ import annotations

MIDDLE = """canvas => {
    const { x, y, width, height } = canvas.getBoundingClientRect();
    return [x + width / 2, y + height / 2];
}"""
FRAME = """() => {  // where the frame is drawn in its colour
    const map = document.querySelector(".graph-map");
    const { data, width, height } = map.getContext("2d").getImageData(0, 0, map.width, map.height);
    const [xs, ys] = [[], []];
    for (let i = 0; i < data.length; i += 4) {
        if (Math.hypot(data[i] - 11, data[i + 1] - 92, data[i + 2] - 173) > 12) continue;
        xs.push(((i / 4) % width) / width);
        ys.push(Math.floor(i / 4 / width) / height);
    }
    return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
}"""
