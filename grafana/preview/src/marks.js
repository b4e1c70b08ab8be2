/** Shades regions of a plot and draws lines where something happened. */
export function shadeMarks(config, marks, theme) {
  config.addHook('drawClear', plot => {
    const { ctx, bbox } = plot;
    ctx.save();
    for (const one of marks) {
      const colour = theme.visualization.getColorByName(one.colour);
      const left = plot.valToPos(one.from * 1000, 'x', true), right = plot.valToPos(one.to * 1000, 'x', true);
      const from = Math.max(bbox.left, left), to = Math.min(bbox.left + bbox.width, right);
      ctx.fillStyle = ctx.strokeStyle = colour;
      ctx.globalAlpha = 0.12;
      if (to > from) ctx.fillRect(from, bbox.top, to - from, bbox.height);
      ctx.globalAlpha = 0.7;
      ctx.setLineDash([4, 4]);
      for (const x of one.to > one.from ? [left, right] : [left]) {
        if (x < bbox.left || x > bbox.left + bbox.width) continue;
        ctx.beginPath();
        ctx.moveTo(x, bbox.top);
        ctx.lineTo(x, bbox.top + bbox.height);
        ctx.stroke();
      }
    }
    ctx.restore();
  });
}
