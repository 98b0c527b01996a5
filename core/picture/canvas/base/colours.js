// The page's theme, and a colour table whose zero is the page's own background.

const BLEND = 72; // table entries over which the background turns into the table

function rgbOf(text) {
  return text.match(/[\d.]+/g).slice(0, 3).map(Number);
}

// Computed colours come as rgb() whatever the theme wrote (hex, names, oklch in older themes).
function probe(root, variable) {
  const node = root.querySelector(".probe");
  node.style.color = `var(${variable})`;
  return rgbOf(getComputedStyle(node).color);
}

function luminance([red, green, blue]) {
  return (0.2126 * red + 0.7152 * green + 0.0722 * blue) / 255;
}

function mix(from, to, share) {
  return from.map((part, index) => Math.round(part + (to[index] - part) * share));
}

function css([red, green, blue], alpha = 1) {
  return `rgba(${red}, ${green}, ${blue}, ${alpha})`;
}

function readTheme(root) {
  const background = probe(root, "--hl-background");
  const text = probe(root, "--hl-text");
  return {
    background,
    text,
    accent: probe(root, "--hl-accent"),
    muted: mix(background, text, 0.66),
    line: mix(background, text, 0.18),
    dark: luminance(background) < 0.5,
    font: getComputedStyle(root).fontFamily,
  };
}

// A palette by its name; a table of its own comes as bytes in base64.
function paletteBytes(palette) {
  return bytesOf(PALETTES[palette] ?? palette);
}

// High is far from the page: bright in the dark, dark in the light.
function colourTable(palette, theme) {
  const bytes = paletteBytes(palette);
  return Array.from({ length: 256 }, (_, index) => {
    const entry = theme.dark ? index : 255 - index;
    const colour = Array.from(bytes.subarray(3 * entry, 3 * entry + 3));
    return mix(theme.background, colour, Math.min(1, index / BLEND));
  });
}

// Over a photograph the table runs from dark to bright in both themes, and zero is see-through.
function photoTable(palette) {
  const bytes = paletteBytes(palette);
  return Array.from({ length: 256 }, (_, index) =>
    Array.from(bytes.subarray(3 * index, 3 * index + 3)),
  );
}

function share(value, top, scale) {
  if (top <= 0) return 0;
  return scale === "sqrt" ? Math.sqrt(value / top) : value / top;
}

function entryOf(value, top, scale) {
  return Math.min(255, Math.round(255 * share(value, top, scale)));
}

function readableOn(colour) {
  return luminance(colour) > 0.45 ? "#111" : "#fff";
}

const STOPS = [0, 32, 72, 112, 152, 192, 224, 255];

function gradient(table, alphaOf = () => 255, stops = STOPS) {
  return `linear-gradient(to right, ${stops
    .map((index) => `${css(table[index], alphaOf(index) / 255)} ${(100 * index) / 255}%`)
    .join(", ")})`;
}
