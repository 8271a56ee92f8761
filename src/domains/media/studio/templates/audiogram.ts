import { partsOf, subtitles } from './subtitle-layers.ts'
import { given, picture, place, text, type Template } from './template.ts'

export const audiogram: Template = {
  name: 'Audiogram',
  description: 'A sound with its waveform, and what is said if there is a transcript',
  format: 'mp4',
  pageFormat: 'square',
  required: ['soundAssetId', 'title'],
  optional: ['author', 'pictureAssetIds', 'transcriptId'],
  colors: { backgroundColor: '#1d1e3a', textColor: '#ffffff', accentColor: '#7bdff2' },
  build: ({ seconds, segments, values }, { accentColor, height, margin, page, textColor, unit, width }) => {
    const { author, pictureAssetIds = [], soundAssetId = '', title = '' } = values
    const wide = width - 2 * margin
    const cover = 220 * unit
    const [assetId] = pictureAssetIds
    const indent = assetId === undefined ? 0 : cover + 50 * unit
    return partsOf(segments, seconds).map((part) => ({
      ...page,
      seconds: part.seconds,
      layers: [
        { kind: 'sound', assetId: soundAssetId, fromSeconds: part.from },
        ...picture(assetId, [margin, margin, cover, cover], { radius: 30 * unit }),
        text(title, [margin + indent, margin, wide - indent, 150 * unit], {
          fontSize: 64 * unit,
          color: textColor,
          fontWeight: 'bold',
          verticalAlign: 'middle',
          lineHeight: 1.1,
        }),
        ...given(author, (name) =>
          text(name, [margin + indent, margin + 160 * unit, wide - indent, 60 * unit], {
            fontSize: 40 * unit,
            color: accentColor,
          }),
        ),
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
