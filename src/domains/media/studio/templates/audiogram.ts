import { column, heightOf, scaleOf, textItem } from './column.ts'
import { readableOn } from './contrast.ts'
import { partsOf, subtitles } from './subtitle-layers.ts'
import { picture, place, text, type Template } from './template.ts'

export const audiogram: Template = {
  name: 'Audiogram',
  description: 'A sound with its waveform, and what is said if there is a transcript',
  format: 'mp4',
  pageFormat: 'square',
  required: ['soundAssetId', 'title'],
  optional: ['author', 'pictureAssetIds', 'transcriptId'],
  colors: { backgroundColor: '#1d1e3a', textColor: '#ffffff', accentColor: '#7bdff2' },
  build: ({ seconds, segments, values }, style) => {
    const { accentColor, backgroundColor, height, margin, page, textColor, unit, width } = style
    const { author, pictureAssetIds = [], soundAssetId = '', title = '' } = values
    const wide = width - 2 * margin
    const cover = 220 * unit
    const [assetId] = pictureAssetIds
    const indent = assetId === undefined ? 0 : cover + 50 * unit
    const items = [
      textItem(title, 0, { fontSize: 64 * unit, color: textColor, fontWeight: 'bold', lineHeight: 1.1 }),
      ...(author === undefined
        ? []
        : [
            textItem(
              author,
              16 * unit,
              { fontSize: 40 * unit, color: readableOn(backgroundColor, accentColor, textColor) },
              0.3,
            ),
          ]),
    ]
    // A short heading is as high as the picture beside it, a long one reaches down to the waveform.
    const high = height * 0.36 - margin - 30 * unit
    const scale = scaleOf(items, wide - indent, high)
    const needed = Math.min(high, Math.max(cover, heightOf(items, wide - indent, scale)))
    const heading = column(items, [margin + indent, margin, wide - indent, needed], 'middle', scale)
    return partsOf(segments, seconds).map((part) => ({
      ...page,
      seconds: part.seconds,
      layers: [
        { kind: 'sound', assetId: soundAssetId, fromSeconds: part.from },
        ...picture(assetId, [margin, margin, cover, cover], { radius: 30 * unit }),
        ...heading.layers,
        {
          kind: 'waveform',
          assetId: soundAssetId,
          fromSeconds: part.from,
          barRange: 'moving',
          barCount: 48,
          color: accentColor,
          restColor: `${textColor.slice(0, 7)}60`,
          ...place([margin, height * 0.36, wide, height * 0.26]),
        },
        ...subtitles(part.segments, (words) =>
          text(words, [margin, height * 0.68, wide, height * 0.32 - margin], {
            fontSize: 56 * unit,
            color: textColor,
            align: 'center',
            verticalAlign: 'middle',
          }),
        ),
      ],
    }))
  },
}
