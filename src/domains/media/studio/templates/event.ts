import { column, heightOf, scaleOf, textItem, type Item } from './column.ts'
import { readableOn } from './contrast.ts'
import { box, picture, type Place, type Style, type Template } from './template.ts'

/** Shares of the page that the picture can have. It makes room for long texts. */
const SHARES = {
  tall: { picture: [0.46, 0.4, 0.34, 0.28, 0.22, 0.16], color: [0.3, 0.22, 0.16] },
  wide: { picture: [0.44, 0.36, 0.28, 0.2], color: [0.08] },
} as const
/** Texts may become as small as this share of their size before the picture makes room. */
const MIN_SCALE = 0.85

export const event: Template = {
  name: 'Event',
  description: 'What happens when and where, below or beside a picture',
  format: 'png',
  pageFormat: 'portrait',
  required: ['title', 'when'],
  optional: ['place', 'text', 'pictureAssetIds'],
  colors: { backgroundColor: '#fff8ef', textColor: '#1f1a17', accentColor: '#d62839' },
  build: ({ values }, style) => {
    const { accentColor, backgroundColor, isWide, page, textColor, unit } = style
    const { pictureAssetIds: [assetId] = [], place, text: about } = values
    const small = { fontSize: 44 * unit, color: textColor }
    const texts = {
      when: textItem(values.when ?? '', 0, {
        fontSize: 56 * unit,
        color: readableOn(accentColor, '#ffffff', backgroundColor, textColor),
        boxColor: accentColor.slice(0, 7),
        fontWeight: 'bold',
        verticalAlign: 'middle',
      }),
      title: textItem(values.title ?? '', 44 * unit, {
        fontSize: 110 * unit,
        color: textColor,
        fontWeight: 'bold',
        lineHeight: 1.1,
      }),
      about: about === undefined ? [] : [textItem(about, 28 * unit, small, 0.4)],
      place:
        place === undefined
          ? []
          : [textItem(`📍 ${place}`, 44 * unit, { ...small, fontWeight: 'bold', verticalAlign: 'bottom' }, 0.4)],
    }
    const shares = SHARES[isWide ? 'wide' : 'tall'][assetId === undefined ? 'color' : 'picture']
    const layouts = shares.map((share) => (isWide ? beside : below)(texts, share, style))
    const best = layouts.find(({ scale }) => scale >= MIN_SCALE) ?? layouts.at(-1)
    if (best === undefined) return []
    return [{ ...page, layers: [box(best.picture, accentColor), ...picture(assetId, best.picture), ...best.layers()] }]
  },
}

interface Texts {
  readonly when: Item
  readonly title: Item
  readonly about: readonly Item[]
  readonly place: readonly Item[]
}

/** Texts below a picture, with the time on its lower edge and the place at the bottom. */
function below({ about, place, title, when }: Texts, share: number, { height, margin, unit, width }: Style) {
  const wide = width - 2 * margin
  const whenScale = scaleOf([when], wide, 220 * unit)
  const label = heightOf([when], wide, whenScale)
  const edge = Math.round(Math.max(height * share, margin + label / 2))
  const items = [title, ...about]
  const top = edge + label / 2 + title.gap
  const rest = height - margin - top
  const scale = scaleOf([...items, ...place], wide, rest)
  const bottom = place.length === 0 ? 0 : heightOf(place, wide, scale)
  return {
    scale,
    picture: [0, 0, width, edge] as Place,
    layers: () => [
      ...column([when], [margin, edge - label / 2, wide, label], 'top', whenScale).layers,
      ...column(items, [margin, top, wide, rest - bottom], 'top', scale).layers,
      ...column(place, [margin, height - margin - bottom, wide, bottom], 'top', scale).layers,
    ],
  }
}

/** Texts beside a picture, with the place at the bottom. */
function beside({ about, place, title, when }: Texts, share: number, { height, margin, width }: Style) {
  const edge = Math.round(width * share)
  const left = edge + margin
  const wide = width - margin - left
  const high = height - 2 * margin
  const items = [when, title, ...about]
  const scale = scaleOf([...items, ...place], wide, high)
  const bottom = heightOf(place, wide, scale)
  const gap = place[0]?.gap ?? 0
  return {
    scale,
    picture: [0, 0, edge, height] as Place,
    layers: () => [
      ...column(items, [left, margin, wide, high - bottom - gap], 'middle', scale).layers,
      ...column(place, [left, height - margin - bottom, wide, bottom], 'top', scale).layers,
    ],
  }
}
