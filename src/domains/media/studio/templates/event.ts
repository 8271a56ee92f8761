import { box, given, picture, text, type Template } from './template.ts'

export const event: Template = {
  name: 'Event',
  description: 'What happens when and where, below a picture',
  format: 'png',
  pageFormat: 'portrait',
  required: ['title', 'when'],
  optional: ['place', 'text', 'pictureAssetIds'],
  colors: { backgroundColor: '#fff8ef', textColor: '#1f1a17', accentColor: '#d62839' },
  build: ({ values }, { accentColor, height, margin, page, textColor, unit, width }) => {
    const [assetId] = values.pictureAssetIds ?? []
    const wide = width - 2 * margin
    const middle = height * 0.46
    const rest = height - middle - margin
    return [
      {
        ...page,
        layers: [
          box([0, 0, width, middle], accentColor),
          ...picture(assetId, [0, 0, width, middle]),
          text(values.when ?? '', [margin, middle - 60 * unit, wide, 120 * unit], {
            fontSize: 56 * unit,
            color: '#ffffff',
            boxColor: accentColor,
            fontWeight: 'bold',
            verticalAlign: 'middle',
          }),
          text(values.title ?? '', [margin, middle + 90 * unit, wide, rest * 0.42], {
            fontSize: 110 * unit,
            color: textColor,
            fontWeight: 'bold',
            lineHeight: 1.1,
          }),
          ...given(values.text, (content) =>
            text(content, [margin, middle + 110 * unit + rest * 0.42, wide, rest * 0.26], {
              fontSize: 44 * unit,
              color: textColor,
            }),
          ),
          ...given(values.place, (where) =>
            text(`📍 ${where}`, [margin, height - margin - 60 * unit, wide, 60 * unit], {
              fontSize: 44 * unit,
              color: textColor,
              fontWeight: 'bold',
              verticalAlign: 'bottom',
            }),
          ),
        ],
      },
    ]
  },
}
