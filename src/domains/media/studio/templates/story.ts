import { box, given, picture, place, text, type Template } from './template.ts'

const SECONDS = 6

export const story: Template = {
  name: 'Story',
  description: 'An upright picture or video, with a title that slides in and a call to act',
  format: 'mp4',
  pageFormat: 'story',
  hasSound: true,
  required: ['title'],
  optional: ['text', 'pictureAssetIds', 'videoAssetId', 'soundAssetId'],
  colors: { backgroundColor: '#3d1766', textColor: '#ffffff', accentColor: '#ff4d6d' },
  build: ({ seconds, values }, { accentColor, height, margin, page, textColor, unit, width }) => {
    const { pictureAssetIds = [], title = '', videoAssetId } = values
    const wide = width - 2 * margin
    const whole = [0, 0, width, height] as const
    // Apps cover the upper and lower parts of a story.
    const top = height * 0.14
    return [
      {
        ...page,
        seconds: videoAssetId === undefined ? SECONDS : seconds,
        layers: [
          ...picture(videoAssetId === undefined ? pictureAssetIds[0] : undefined, whole),
          ...given(videoAssetId, (assetId) => ({ kind: 'video', assetId, fit: 'cover', ...place(whole) })),
          box([margin, top, 14 * unit, height * 0.26], accentColor, {
            radius: 7 * unit,
            enter: { effect: 'slide', seconds: 0.5, side: 'left' },
          }),
          text(title, [margin + 50 * unit, top, wide - 50 * unit, height * 0.26], {
            fontSize: 120 * unit,
            color: textColor,
            fontWeight: 'bold',
            lineHeight: 1.1,
            verticalAlign: 'middle',
            enter: { effect: 'slide', seconds: 0.6, side: 'right' },
          }),
          ...given(values.text, (content) =>
            text(content, [margin, height * 0.68, wide, height * 0.14], {
              fontSize: 60 * unit,
              color: textColor,
              boxColor: accentColor,
              fontWeight: 'bold',
              align: 'center',
              verticalAlign: 'middle',
              startSeconds: 0.5,
              enter: { effect: 'zoom', seconds: 0.4 },
            }),
          ),
        ],
      },
    ]
  },
}
