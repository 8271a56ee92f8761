import { box, given, picture, text, type Template } from './template.ts'

export const carousel: Template = {
  name: 'Carousel',
  description: 'A cover, and a numbered page for each point, with a bar that shows how far it is',
  format: 'png',
  pageFormat: 'portrait',
  required: ['title', 'bulletTexts'],
  optional: ['author', 'pictureAssetIds'],
  colors: { backgroundColor: '#0b3d3a', textColor: '#f4f1de', accentColor: '#f2cc8f' },
  build: ({ values }, { accentColor, backgroundColor, height, margin, page, textColor, unit, width }) => {
    const { author, bulletTexts = [], pictureAssetIds = [], title = '' } = values
    const wide = width - 2 * margin
    const barOf = (share: number) => [
      box([margin, height - margin, wide, 12 * unit], `${textColor.slice(0, 7)}40`, { radius: 6 * unit }),
      box([margin, height - margin, wide * share, 12 * unit], accentColor, { radius: 6 * unit }),
    ]
    const [cover] = pictureAssetIds
    const first = {
      ...page,
      layers: [
        ...picture(cover, [0, 0, width, height]),
        ...(cover === undefined ? [] : [box([0, 0, width, height], `${backgroundColor.slice(0, 7)}b0`)]),
        text(title, [margin, height * 0.2, wide, height * 0.5], {
          fontSize: 130 * unit,
          color: textColor,
          fontWeight: 'bold',
          lineHeight: 1.1,
          verticalAlign: 'middle',
        }),
        ...given(author, (name) =>
          text(name, [margin, margin, wide, 60 * unit], { fontSize: 42 * unit, color: accentColor }),
        ),
        ...barOf(1 / (bulletTexts.length + 1)),
      ],
    }
    const others = bulletTexts.map((item, index) => ({
      ...page,
      layers: [
        box([margin, margin, 150 * unit, 150 * unit], accentColor, { radius: 75 * unit }),
        text(String(index + 1), [margin, margin, 150 * unit, 150 * unit], {
          fontSize: 80 * unit,
          color: backgroundColor,
          fontWeight: 'bold',
          align: 'center',
          verticalAlign: 'middle',
        }),
        text(item, [margin, margin + 200 * unit, wide, height - 2 * margin - 280 * unit], {
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
