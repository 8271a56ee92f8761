import { partsOf, subtitles as layersOf } from './subtitle-layers.ts'
import { shadeFor } from './contrast.ts'
import { place, text, type Template } from './template.ts'

export const subtitles: Template = {
  name: 'Subtitles',
  description: 'A video with the subtitles of its transcript, each while it is spoken',
  format: 'mp4',
  pageFormat: 'story',
  required: ['videoAssetId', 'transcriptId'],
  optional: [],
  colors: { backgroundColor: '#000000', textColor: '#ffffff', accentColor: '#000000' },
  build: ({ seconds, segments, values }, { accentColor, height, margin, page, textColor, unit, width }) =>
    partsOf(segments, seconds).map((part) => ({
      ...page,
      seconds: part.seconds,
      layers: [
        {
          kind: 'video',
          assetId: values.videoAssetId ?? '',
          fit: 'contain',
          fromSeconds: part.from,
          ...place([0, 0, width, height]),
        },
        ...layersOf(part.segments, (words) =>
          text(words, [margin, height * 0.5, width - 2 * margin, height * 0.34], {
            fontSize: 60 * unit,
            color: textColor,
            boxColor: shadeFor(textColor, accentColor),
            fontWeight: 'bold',
            align: 'center',
            verticalAlign: 'bottom',
          }),
        ),
      ],
    })),
}
