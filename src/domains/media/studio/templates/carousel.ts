import { column, textItem } from './column.ts'
import { readableOn, shadeFor } from './contrast.ts'
import { box, picture, text, type Template } from './template.ts'

export const carousel: Template = {
  name: 'Carousel',
  description: 'A cover, and a numbered page for each point, with a bar that shows how far it is',
  format: 'png',
  pageFormat: 'portrait',
  required: ['title', 'bulletTexts'],
  optional: ['author', 'pictureAssetIds'],
  colors: { backgroundColor: '#0b3d3a', textColor: '#f4f1de', accentColor: '#f2cc8f' },
  build: ({ values }, style) => {
    const { accentColor, backgroundColor, height, isWide, margin, page, textColor, unit, width } = style
    const { author, bulletTexts = [], pictureAssetIds: [cover] = [], title = '' } = values
    const wide = width - 2 * margin
    const end = height - margin - 50 * unit
    const barOf = (share: number) => [
      box([margin, height - margin, wide, 12 * unit], `${textColor.slice(0, 7)}40`, { radius: 6 * unit }),
      box([margin, height - margin, wide * share, 12 * unit], accentColor, { radius: 6 * unit }),
    ]
    const shade = shadeFor(textColor, backgroundColor)
    // On a picture, the color has to be readable on its shade only: without opacity, the picture would show.
    const names =
      author === undefined
        ? []
        : [
            textItem(author, 0, {
              fontSize: 42 * unit,
              color: cover === undefined ? readableOn(backgroundColor, accentColor, textColor) : textColor,
            }),
          ]
    const name = column(names, [margin, margin, wide, 160 * unit])
    const titleTop = names.length === 0 ? margin : name.bottom + 40 * unit
    const first = {
      ...page,
      layers: [
        ...picture(cover, [0, 0, width, height]),
        ...(cover === undefined ? [] : [box([0, 0, width, height], shade)]),
        text(title, [margin, titleTop, wide, end - titleTop], {
          fontSize: 130 * unit,
          color: textColor,
          fontWeight: 'bold',
          lineHeight: 1.1,
          verticalAlign: 'middle',
        }),
        ...name.layers,
        ...barOf(1 / (bulletTexts.length + 1)),
      ],
    }
    const circle = 150 * unit
    // Beside the number on wide pages, below it on the others.
    const [x, y] = isWide ? [circle + 60 * unit, 0] : [0, circle + 50 * unit]
    const others = bulletTexts.map((item, index) => ({
      ...page,
      layers: [
        box([margin, margin, circle, circle], accentColor, { radius: circle / 2 }),
        text(String(index + 1), [margin, margin, circle, circle], {
          fontSize: 80 * unit,
          color: readableOn(accentColor, backgroundColor, textColor),
          fontWeight: 'bold',
          align: 'center',
          verticalAlign: 'middle',
        }),
        text(item, [margin + x, margin + y, wide - x, end - margin - y], {
          fontSize: 84 * unit,
          color: textColor,
          verticalAlign: 'middle',
        }),
        ...barOf((index + 2) / (bulletTexts.length + 1)),
      ],
    }))
    return [first, ...others]
  },
}
