/* Draws each element that names a plot: its data is the JSON of the element with that id, {x, label, time?,
   percent?, series: [{label, colour, values}]}. Colours are the tokens of the theme. The table beside each plot says the same. */
(function () {
  "use strict";

  const HEIGHT = 240;
  const plots = [];

  function colour(token) {
    // A canvas takes no light-dark(): the browser's own answer for an element of that colour.
    const probe = document.createElement("span");
    probe.style.color = "var(--" + token + ")";
    document.body.append(probe);
    const found = getComputedStyle(probe).color;
    probe.remove();
    return found;
  }

  function options(data, width) {
    const text = colour("muted");
    const lines = colour("hairline");
    const axis = { stroke: text, grid: { stroke: lines, width: 1 }, ticks: { stroke: lines, width: 1 } };
    const said = (value) => (value === null || value === undefined ? "–" : data.percent ? value + " %" : String(value));
    return {
      width: width,
      height: HEIGHT,
      scales: { x: { time: Boolean(data.time) }, y: { range: data.percent ? [0, 100] : (_, __, most) => [0, Math.max(1, most)] } },
      axes: [data.time ? axis : Object.assign({}, axis, { incrs: [1, 2, 5, 10, 20, 50, 100] }), Object.assign({}, axis, { size: 56, values: (_, ticks) => ticks.map((tick) => (data.percent ? tick + " %" : tick)) })],
      series: [data.time ? { label: data.label } : { label: data.label, value: (_, value) => (value === null ? "–" : String(value)) }].concat(
        data.series.map((series) => ({
          label: series.label,
          stroke: colour(series.colour),
          width: series.colour === "muted" ? 1 : 2,
          dash: series.colour === "muted" ? [4, 4] : [],
          points: { show: data.x.length < 40 },
          value: (_, value) => said(value),
        })),
      ),
      cursor: { drag: { x: false, y: false } },
    };
  }

  function draw(plot) {
    if (plot.drawn) plot.drawn.destroy();
    const width = Math.max(240, plot.place.clientWidth);
    const columns = [plot.data.x].concat(plot.data.series.map((series) => series.values));
    plot.drawn = new uPlot(options(plot.data, width), columns, plot.place);
  }

  for (const place of document.querySelectorAll("[data-plot]")) {
    const plot = { place: place, data: JSON.parse(document.getElementById(place.dataset.plot).textContent), drawn: null };
    draw(plot);
    plots.push(plot);
  }

  let waiting = 0;
  function again() {
    clearTimeout(waiting);
    waiting = setTimeout(() => plots.forEach(draw), 100);
  }
  window.addEventListener("resize", again);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
})();
