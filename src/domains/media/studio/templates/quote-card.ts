import { boxItem, column, textItem } from './column.ts'
import { shadeFor } from './contrast.ts'
import { box, picture, text, type Template } from './template.ts'

/** Marks have no mirrored forms: the one that opens a text from right to left closes one from left to right. */
const OPENING = { ltr: '“', rtl: '”' } as const

export const quoteCard: Template = {
  name: 'Quote card',
  description: 'A sentence and who has said it, on a color or a picture',
  format: 'png',
  pageFormat: 'square',
  required: ['text'],
  optional: ['author', 'pictureAssetIds'],
  colors: { backgroundColor: '#14213d', textColor: '#ffffff', accentColor: '#fca311' },
  build: ({ values }, style) => {
    const { accentColor, backgroundColor, direction, height, isWide, margin, page, textColor, unit, width } = style
    const { author, pictureAssetIds: [assetId] = [] } = values
    const mark = { width: 160 * unit, height: 130 * unit }
    // Beside the text on wide pages, above it on the others.
    const indent = isWide ? mark.width : 0
    const above = isWide ? 0 : mark.height
    const items = [
      textItem(values.text ?? '', 0, {
        fontSize: 84 * unit,
        color: textColor,
        fontWeight: 'bold',
        verticalAlign: 'middle',
      }),
      boxItem(48 * unit, [120 * unit, 10 * unit], accentColor, 5 * unit),
      ...(author === undefined ? [] : [textItem(author, 32 * unit, { fontSize: 42 * unit, color: textColor }, 0.4)]),
    ]
    const place = [margin + indent, margin + above, width - 2 * margin - indent, height - 2 * margin - above] as const
    const { layers, top } = column(items, place, 'middle')
    return [
      {
        ...page,
        layers: [
          ...picture(assetId, [0, 0, width, height]),
          ...(assetId === undefined ? [] : [box([0, 0, width, height], shadeFor(textColor, backgroundColor))]),
          text(OPENING[direction], [margin, top - above + (isWide ? 36 * unit : 0), mark.width, mark.height], {
            fontSize: 260 * unit,
            color: accentColor,
            // The mark is in the upper half of its line.
            lineHeight: 0.5,
            fontWeight: 'bold',
            shrink: false,
          }),
          ...layers,
        ],
      },
    ]
  },
}
