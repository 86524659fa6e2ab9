// The interactive parts of a report: heat maps with a slider, and episodes that play. Each block has its data as JSON.
"use strict";

const DIVERGING = [[0, "#2166ac"], [0.25, "#92c5de"], [0.5, "#f7f7f7"], [0.75, "#f4a582"], [1, "#b2182b"]];
const SEEN = [[0, "#f3f4f6"], [0.5, "#9dc3d9"], [1, "#1d5273"]];
const INK = "#33383f", BLUE = "#2a6f97", ORANGE = "#c8553d", FAINT = "#d9dde2", GREEN = "#5b8c5a";
const CONFIG = { displayModeBar: false, responsive: true };

function dataOf(block) {
  return JSON.parse(block.querySelector("script[type='application/json']").textContent);
}

function centres(sides, number) {
  return Array.from({ length: number }, (_, i) => sides[0] + (sides[1] - sides[0]) * (i + 0.5) / number);
}

function colours(map) {
  if (map.title === "Policy") return DIVERGING;
  return map.title === "Knownness" ? SEEN : "Viridis";
}

function heatMap(maps, map, layer) {
  const z = map.layers[layer];
  return {
    type: "heatmap", z, x: centres(maps.box[0], z[0].length), y: centres(maps.box[1], z.length),
    zmin: map.limits[0], zmax: map.limits[1], colorscale: colours(map),
    colorbar: { thickness: 10, outlinewidth: 0, title: { text: map.unit, side: "right", font: { size: 11 } } },
    hovertemplate: `${maps.labels[0]}: %{x:.3g}<br>${maps.labels[1]}: %{y:.3g}<br>${map.unit}: %{z:.3g}<extra></extra>`,
  };
}

function mapLayout(maps, height) {
  const axis = (i) => ({
    title: { text: maps.labels[i], standoff: 6 }, range: maps.box[i], zeroline: false, showgrid: false, ticks: "outside",
  });
  return {
    xaxis: axis(0), yaxis: axis(1), height, margin: { l: 55, r: 10, t: 8, b: 45 },
    font: { family: "system-ui, sans-serif", size: 12, color: INK }, showlegend: false, plot_bgcolor: "#ffffff",
  };
}

// ---- heat maps: one panel per map, with a slider if the map has several layers

function drawMaps(block) {
  const maps = dataOf(block);
  for (const panel of block.querySelectorAll(".panel")) {
    const map = maps.maps[Number(panel.dataset.map)];
    const plot = panel.querySelector(".plot"), slider = panel.querySelector("input"), shown = panel.querySelector("output");
    const middle = slider ? Number(slider.value) : 0;
    Plotly.newPlot(plot, [heatMap(maps, map, middle)], mapLayout(maps, 300), CONFIG);
    if (!slider) continue;
    const show = () => {
      const layer = Number(slider.value);
      shown.textContent = map.positions[layer].toPrecision(3);
      Plotly.restyle(plot, { z: [map.layers[layer]] }, [0]);
    };
    shown.textContent = map.positions[middle].toPrecision(3);
    slider.addEventListener("input", show);
  }
}

// ---- episodes: the system on a canvas, the trajectory on the policy's map, and the rewards

function drawEpisode(block) {
  const data = dataOf(block), steps = data.actions.length;
  const canvas = block.querySelector("canvas"), plot = block.querySelector(".plot");
  const button = block.querySelector("button"), slider = block.querySelector("input"), shown = block.querySelector("output");
  const dims = data.dims, place = (t) => [data.states[t][dims[0]], data.states[t][dims[1]]];
  const path = { x: [], y: [] };
  for (let t = 0; t <= steps; t++) {
    // A line is not drawn across the seam of an angle.
    const wrapped = t > 0 && data.seam && Math.abs(place(t)[0] - place(t - 1)[0]) > data.seam / 2;
    if (wrapped) { path.x.push(null); path.y.push(null); }
    path.x.push(place(t)[0]); path.y.push(place(t)[1]);
  }
  const traces = data.maps ? [heatMap(data.maps, data.maps.maps[0], Math.floor(data.maps.maps[0].layers.length / 2))] : [];
  traces.push({ type: "scatter", mode: "lines", ...path, line: { color: INK, width: 1.2 }, hoverinfo: "skip" });
  traces.push({ type: "scatter", mode: "markers", x: [0], y: [0], hoverinfo: "skip",
                marker: { size: 13, color: "#ffffff", line: { color: INK, width: 2.5 } } });
  const around = data.maps || { labels: data.labels, box: data.box };
  Plotly.newPlot(plot, traces, mapLayout(around, 340), CONFIG);
  let t = 0, timer = null;
  const sums = data.rewards.reduce((found, r) => { found.push(found[found.length - 1] + r); return found; }, [0]);
  function show() {
    slider.value = t;
    const action = data.actions[Math.min(t, steps - 1)];
    shown.textContent = `${(t * data.seconds).toFixed(1)} s · ${data.action}: ${action[0].toFixed(2)} · return so far: ${sums[t].toFixed(1)}`;
    drawScene(canvas, data.scene, data.states[t], action[0] / data.most);
    Plotly.restyle(plot, { x: [[place(t)[0]]], y: [[place(t)[1]]] }, [traces.length - 1]);
    block.dataset.step = t;
  }
  function pause() {
    clearInterval(timer);
    timer = null;
    button.textContent = "▶ play";
  }
  function play() {
    if (t >= steps) t = 0;
    button.textContent = "❚❚ pause";
    timer = setInterval(() => { t += 1; show(); if (t >= steps) pause(); }, 80);
  }
  button.addEventListener("click", () => (timer === null ? play() : pause()));
  slider.addEventListener("input", () => { pause(); t = Number(slider.value); show(); });
  show();
}

// ---- scenes: what a state looks like; `push` is the action as a share of its range

const SCENES = {
  "cart-pole": (pen, state, push) => {
    pen.view(0, 0.35, 1.7);
    pen.line([[-2, -0.16], [2, -0.16]], FAINT, 0.02);
    pen.shape([[-0.22, -0.1], [0.22, -0.1], [0.22, 0.06], [-0.22, 0.06]], BLUE);
    pen.disc(-0.12, -0.1, 0.05, INK); pen.disc(0.12, -0.1, 0.05, INK);
    pen.line([[0, 0], [Math.sin(state[0]), Math.cos(state[0])]], INK, 0.05);
    pen.arrow(0, -0.02, push * 0.6, ORANGE);
  },
  "rod": (pen, state, push) => {
    const angle = state.length === 3 ? Math.atan2(state[1], state[0]) : state[0];
    pen.view(0, 0, 2.5);
    pen.ring(0, 0, 1, FAINT, 0.012);
    pen.disc(0, 1, 0.04, GREEN);
    pen.line([[0, -1.25], [0, 0]], FAINT, 0.05);
    pen.line([[0, 0], [Math.sin(angle), Math.cos(angle)]], BLUE, 0.1);
    pen.disc(0, 0, 0.07, INK);
    pen.arc(0, 0, 0.35, push, ORANGE);
  },
  "hill": (pen, state, push) => {
    const hill = (p) => (p < 0 ? p * p + p : p / Math.sqrt(1 + 5 * p * p));
    hilly(pen, state[0], hill, [-1.5, 1.5], 1, 0.15, 1.75, push, 1);
  },
  "valley": (pen, state, push) => hilly(pen, state[0], (p) => 0.45 * Math.sin(3 * p), [-1.25, 0.62], 0.45, 0.05, 1.35, push, 0.7, -0.3),
  "block": (pen, state, push) => {
    pen.view(0, 0.15, 1.7);
    pen.line([[-2, -0.1], [2, -0.1]], FAINT, 0.02);
    for (const end of [-1, 1]) pen.line([[end + 0.14 * end, -0.1], [end + 0.14 * end, 0.3]], ORANGE, 0.02);
    pen.line([[0, -0.1], [0, -0.2]], GREEN, 0.03);
    const p = state[0];
    pen.shape([[p - 0.13, -0.09], [p + 0.13, -0.09], [p + 0.13, 0.12], [p - 0.13, 0.12]], BLUE);
    pen.arrow(p, 0.02, push * 0.4, ORANGE);
  },
};

function hilly(pen, p, hill, ends, goal, y, height, push, size, centre = 0) {
  pen.view(centre, y, height);
  const road = Array.from({ length: 151 }, (_, i) => ends[0] + (ends[1] - ends[0]) * i / 150).map((x) => [x, hill(x)]);
  pen.shape([...road, [ends[1], -2], [ends[0], -2]], "#dee5db");
  pen.line(road, FAINT, 0.015);
  pen.line([[goal, hill(goal)], [goal, hill(goal) + 0.28 * size]], GREEN, 0.012);
  pen.shape([[goal, hill(goal) + 0.28 * size], [goal + 0.12 * size, hill(goal) + 0.23 * size], [goal, hill(goal) + 0.18 * size]], GREEN);
  const slope = Math.atan2(hill(p + 1e-4) - hill(p - 1e-4), 2e-4), c = Math.cos(slope), s = Math.sin(slope);
  const at = (x, h) => [p + size * (x * c - h * s), hill(p) + size * (x * s + h * c)];
  pen.shape([at(-0.1, 0.04), at(0.1, 0.04), at(0.08, 0.11), at(-0.08, 0.11)], BLUE);
  for (const wheel of [-0.06, 0.06]) pen.disc(...at(wheel, 0.035), 0.032 * size, INK);
  pen.arrow(...at(0, 0.2), push * 0.3 * size, ORANGE);
}

function drawScene(canvas, scene, state, push) {
  if (SCENES[scene]) SCENES[scene](penOn(canvas), state, push);
}

// A pen in the scene's own coordinates, y upwards.
function penOn(canvas) {
  const context = canvas.getContext("2d"), width = canvas.width, height = canvas.height;
  let scale = 1, cx = 0, cy = 0;
  const x = (a) => width / 2 + (a - cx) * scale, y = (b) => height / 2 - (b - cy) * scale;
  const trace = (points) => {
    context.beginPath();
    points.forEach(([a, b], i) => (i ? context.lineTo(x(a), y(b)) : context.moveTo(x(a), y(b))));
  };
  return {
    view(a, b, tall) {
      [cx, cy, scale] = [a, b, height / tall];
      context.clearRect(0, 0, width, height);
      context.lineCap = context.lineJoin = "round";
    },
    line(points, colour, thick) {
      trace(points);
      context.strokeStyle = colour; context.lineWidth = thick * scale; context.stroke();
    },
    shape(points, colour) {
      trace(points);
      context.closePath(); context.fillStyle = colour; context.fill();
    },
    disc(a, b, radius, colour) {
      context.beginPath(); context.arc(x(a), y(b), radius * scale, 0, 2 * Math.PI); context.fillStyle = colour; context.fill();
    },
    ring(a, b, radius, colour, thick) {
      context.beginPath(); context.arc(x(a), y(b), radius * scale, 0, 2 * Math.PI);
      context.strokeStyle = colour; context.lineWidth = thick * scale; context.stroke();
    },
    arrow(a, b, length, colour) {
      if (Math.abs(length) < 0.02) return;
      const head = 0.06 * Math.sign(length);
      this.line([[a, b], [a + length - head, b]], colour, 0.025);
      this.shape([[a + length, b], [a + length - head, b + 0.05], [a + length - head, b - 0.05]], colour);
    },
    arc(a, b, radius, share, colour) {
      if (Math.abs(share) < 0.02) return;
      const end = -Math.PI / 2 + 1.8 * share;
      context.beginPath(); context.arc(x(a), y(b), radius * scale, -Math.PI / 2, end, share < 0);
      context.strokeStyle = colour; context.lineWidth = 0.03 * scale; context.stroke();
    },
  };
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(".maps").forEach(drawMaps);
  document.querySelectorAll(".episode").forEach(drawEpisode);
  document.body.dataset.ready = "yes";
});
