import { box, given, picture, text, type Template } from './template.ts'

export const quoteCard: Template = {
  name: 'Quote card',
  description: 'A sentence and who has said it, on a color or a picture',
  format: 'png',
  pageFormat: 'square',
  required: ['text'],
  optional: ['author', 'pictureAssetIds'],
  colors: { backgroundColor: '#14213d', textColor: '#ffffff', accentColor: '#fca311' },
  build: ({ values }, { accentColor, backgroundColor, height, margin, page, textColor, unit, width }) => {
    const [assetId] = values.pictureAssetIds ?? []
    const wide = width - 2 * margin
    const foot = 150 * unit
    return [
      {
        ...page,
        layers: [
          ...picture(assetId, [0, 0, width, height]),
          ...(assetId === undefined ? [] : [box([0, 0, width, height], `${backgroundColor.slice(0, 7)}b8`)]),
          text('“', [margin, margin * 0.5, wide, 230 * unit], {
            fontSize: 260 * unit,
            color: accentColor,
            lineHeight: 1,
            fontWeight: 'bold',
          }),
          text(values.text ?? '', [margin, margin + 200 * unit, wide, height - 2 * margin - 230 * unit - foot], {
            fontSize: 84 * unit,
            color: textColor,
            fontWeight: 'bold',
            verticalAlign: 'middle',
          }),
          ...given(values.author, (author) =>
            text(author, [margin, height - margin - 60 * unit, wide, 60 * unit], {
              fontSize: 42 * unit,
              color: textColor,
              verticalAlign: 'bottom',
            }),
          ),
          box([margin, height - margin - foot + 30 * unit, 120 * unit, 10 * unit], accentColor, { radius: 5 * unit }),
        ],
      },
    ]
  },
}
