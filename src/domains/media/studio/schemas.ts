import { pageFields } from '../../../core/page.ts'
import {
  Id,
  Input,
  named,
  Nullable,
  OneOf,
  ResourceBase,
  States,
  Text,
  Timestamp,
  Type,
  type Static,
} from '../../../core/schema.ts'
import { TEMPLATES, type TemplateKey } from './templates/index.ts'
import { PAGE_FORMAT_NAMES, PAGE_FORMATS } from './page-formats.ts'

export const MAX_PROJECT_BYTES = 5_000_000
export const MAX_PAGES = 20
const MAX_LAYERS = 100
const MAX_SIDE = 4_096
export const MAX_VIDEO_SECONDS = 600
/** How long a video shows a page that does not say so. */
export const DEFAULT_PAGE_SECONDS = 5

export const ProjectPath = Input({ id: Id })
export const ProjectVersionPath = Input({
  id: Id,
  version: Type.String({ pattern: '^[1-9][0-9]{0,8}$', description: 'The number of the version' }),
})
export const ProjectQuery = Input({ workspaceId: Id, ...pageFields })
export const ProjectVersionQuery = Input(pageFields)

const Color = Type.String({
  pattern: '^#[0-9a-fA-F]{6}([0-9a-fA-F]{2})?$',
  maxLength: 9,
  description: '`#rrggbb`, or `#rrggbbaa` with opacity',
})
const Position = (description: string) => Type.Number({ minimum: -MAX_SIDE, maximum: 2 * MAX_SIDE, description })
const Side = (description: string) => Type.Number({ minimum: 1, maximum: 2 * MAX_SIDE, description })

const Volume = Type.Number({
  minimum: 0,
  maximum: 4,
  description: 'Of a sound or video. 1 is the volume of the file and the default, 0 is silent',
})
const MAX_FILE_SECONDS = 43_200
const Moment = (description: string) => Type.Number({ minimum: 0, maximum: MAX_VIDEO_SECONDS, description })

const LAYER_KINDS = ['text', 'picture', 'box', 'video', 'waveform', 'sound'] as const
export type LayerKind = (typeof LAYER_KINDS)[number]

const MAX_ANIMATION_SECONDS = 30
export const EFFECTS = ['fade', 'slide', 'zoom'] as const
const StudioAnimation = named(
  'StudioAnimation',
  Input({
    effect: OneOf(EFFECTS, {
      description:
        '`fade` changes the opacity evenly, and the volume of a sound or video. `slide` moves the layer from outside of the page, and `zoom` makes it grow from nothing around its center: at the share p of its time, 1 − (1 − p)³ of the way is done',
    }),
    seconds: Type.Number({ minimum: 0.1, maximum: MAX_ANIMATION_SECONDS, description: 'How long it takes' }),
    side: Type.Optional(
      OneOf(['left', 'right', 'top', 'bottom'], {
        description: 'From or to which side of the page a layer slides. `left` by default',
      }),
    ),
  }),
)

const StudioLayer = named(
  'StudioLayer',
  Input({
    kind: OneOf(LAYER_KINDS, { description: 'What the layer shows. It decides which other fields it has' }),
    left: Type.Optional(
      Position('Pixels from the left edge of the page. All layers but sounds need a place and a size'),
    ),
    top: Type.Optional(Position('Pixels from the upper edge of the page')),
    width: Type.Optional(Side('Pixels')),
    height: Type.Optional(Side('Pixels')),
    opacity: Type.Optional(
      Type.Number({ minimum: 0, maximum: 1, description: '0 is invisible, 1 is opaque and the default' }),
    ),
    rotation: Type.Optional(
      Type.Number({ minimum: -360, maximum: 360, description: 'Degrees, clockwise. 0 by default' }),
    ),
    startSeconds: Type.Optional(
      Moment('When a video shows the layer, in seconds from the start of its page. 0 by default'),
    ),
    endSeconds: Type.Optional(Moment('When a video stops showing the layer. The end of the page by default')),
    enter: Type.Optional({
      ...StudioAnimation,
      description: 'How a video makes the layer appear, from `startSeconds`. A sound can only fade',
    }),
    exit: Type.Optional({
      ...StudioAnimation,
      description: 'How a video makes the layer disappear, until `endSeconds`. It is `enter` in reverse',
    }),
    radius: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: MAX_SIDE,
        description: 'Of the corners of a picture, video or box. 0 by default',
      }),
    ),
    color: Type.Optional({
      ...Color,
      description:
        'Of a text or box, or of the bars of a waveform up to the present moment. `#rrggbb`, or `#rrggbbaa` with opacity',
    }),
    endColor: Type.Optional({
      ...Color,
      description: 'Of the lower edge of a box. The color changes evenly from `color` at the upper edge to it',
    }),
    restColor: Type.Optional({ ...Color, description: 'Of the bars of a waveform after the present moment' }),
    barCount: Type.Optional(
      Type.Integer({ minimum: 4, maximum: 200, description: 'How many bars a waveform has. 60 by default' }),
    ),
    barRange: Type.Optional(
      OneOf(['whole', 'moving'], {
        description:
          'Whether the bars of a waveform show all that is played while it is shown, which is the default, or the four seconds around the present moment. The loudest bar of all is as high as the layer',
      }),
    ),
    text: Type.Optional(
      Text(1, 5_000, {
        description:
          'The text of a text layer. A long word is hyphenated if it does not fit a line, or if this keeps the text from getting much smaller. Lines of Thai end between words',
      }),
    ),
    fontSize: Type.Optional(Type.Number({ minimum: 4, maximum: 1_000, description: 'Pixels. Of a text layer' })),
    fontWeight: Type.Optional(OneOf(['normal', 'bold'], { description: 'Of a text layer' })),
    align: Type.Optional(
      OneOf(['start', 'center', 'end'], { description: 'Of a text layer. `start` is right for right-to-left text' }),
    ),
    verticalAlign: Type.Optional(
      OneOf(['top', 'middle', 'bottom'], { description: 'Where a text is in its layer. `top` by default' }),
    ),
    shrink: Type.Optional(
      Type.Boolean({
        description: 'Of a text layer: whether the text gets smaller until it fits. Otherwise it may exceed the layer',
      }),
    ),
    boxColor: Type.Optional({ ...Color, description: 'Of a text layer: a box behind the text, as large as it needs' }),
    lineHeight: Type.Optional(
      Type.Number({
        minimum: 0.5,
        maximum: 4,
        description: 'Of a text layer, as a multiple of its size. 1.2 by default',
      }),
    ),
    assetId: Type.Optional({
      ...Id,
      description:
        'The asset that a layer shows or plays: a picture, a video, or for a waveform or sound one with sound',
    }),
    fit: Type.Optional(
      OneOf(['cover', 'contain'], {
        description: 'Whether a picture or video fills its layer, which is the default, or is shown whole',
      }),
    ),
    fromSeconds: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: MAX_FILE_SECONDS,
        description:
          'Where a video, waveform or sound begins in its file. 0 by default. After the end of a file, the last picture of a video stays',
      }),
    ),
    volume: Type.Optional(Volume),
  }),
)
export type StudioLayerData = Static<typeof StudioLayer>

const Pixels = (description: string) => Type.Integer({ minimum: 16, maximum: MAX_SIDE, description })

export const PageFormatField = OneOf(PAGE_FORMAT_NAMES, {
  description: `The size of a page by what it is for: ${PAGE_FORMAT_NAMES.map((name) => {
    const { about, height, width } = PAGE_FORMATS[name]
    return `\`${name}\` is ${width} × ${height}, for ${about}`
  }).join('; ')}`,
})

export const StudioProjectData = named(
  'StudioProjectData',
  Input(
    {
      schemaVersion: Type.Literal(1, { description: 'The version of this schema' }),
      pages: Type.Array(
        Input({
          pageFormat: Type.Optional(PageFormatField),
          width: Type.Optional(Pixels('Width of the page in pixels. Without `pageFormat`')),
          height: Type.Optional(Pixels('Height of the page in pixels. Without `pageFormat`')),
          background: Color,
          seconds: Type.Optional(
            Type.Number({
              minimum: 0.1,
              maximum: MAX_VIDEO_SECONDS,
              description: `How long a video shows the page. ${DEFAULT_PAGE_SECONDS} by default`,
            }),
          ),
          layers: Type.Array(StudioLayer, { maxItems: MAX_LAYERS, description: 'The last one is on top' }),
        }),
        { minItems: 1, maxItems: MAX_PAGES },
      ),
      sound: Type.Optional(
        Input(
          {
            assetId: { ...Id, description: 'An asset with sound' },
            volume: Type.Optional(Volume),
          },
          {
            description: 'What a video plays, from its start and again until its end. It fades out in the last second',
          },
        ),
      ),
    },
    { description: 'What a project shows: pages with layers of text, pictures, videos, boxes, waveforms and sounds' },
  ),
)
export type ProjectData = Static<typeof StudioProjectData>

const Name = Text(1, 100, { description: 'Name of the project' })

export const NewProject = Input({ workspaceId: Id, name: Name, projectData: StudioProjectData })
export const ProjectEdit = Input({ name: Type.Optional(Name), projectData: StudioProjectData })

const shared = {
  ...ResourceBase,
  workspaceId: Id,
  name: Type.String({ description: 'Name of the project' }),
  pageCount: Type.Integer({ minimum: 1, description: 'Number of pages' }),
  version: Type.Integer({ minimum: 1, description: 'Increases with every change. Also sent as the ETag' }),
  createdBy: Id,
}

export const ProjectSummary = named('StudioProjectSummary', Type.Object(shared))
export const ProjectView = named('StudioProject', Type.Object({ ...shared, projectData: StudioProjectData }))
export type ProjectSummaryData = Static<typeof ProjectSummary>
export type ProjectViewData = Static<typeof ProjectView>

const version = {
  _id: Id,
  createdAt: { ...Timestamp, description: 'When this version was saved' },
  version: Type.Integer({ minimum: 1, description: 'The number of the version' }),
  name: Type.String({ description: 'Name of the project at that time' }),
  createdBy: { ...Id, description: 'The user who saved it' },
}
export const ProjectVersionSummary = named('StudioVersionSummary', Type.Object(version))
export const ProjectVersionView = named('StudioVersion', Type.Object({ ...version, projectData: StudioProjectData }))

export const RenderPath = Input({ id: Id })
export const RenderQuery = Input(pageFields)

const FORMATS = ['png', 'jpeg', 'webp', 'mp4'] as const
export type RenderFormat = (typeof FORMATS)[number]
const PageNumbers = { minItems: 1, maxItems: MAX_PAGES, uniqueItems: true }
const PageNumber = Type.Integer({ minimum: 1, maximum: MAX_PAGES })

export const NewRender = Input({
  format: Type.Optional(
    OneOf(FORMATS, {
      default: 'png',
      description:
        'Type of the files. `mp4` is one video of all pages. The others are a picture of each page, at its start. JPEG shows transparent pixels as white',
    }),
  ),
  pageNumbers: Type.Optional(
    Type.Array(PageNumber, {
      ...PageNumbers,
      description: 'The pages to render, the first one being 1. All by default',
    }),
  ),
  folderId: Type.Optional({ ...Id, description: 'The folder of the assets' }),
})
export type NewRenderData = Static<typeof NewRender>

const RenderState = States('StudioRenderState', 'Where a rendering stands', {
  queued: 'It waits for a worker',
  running: 'A worker is on it',
  done: 'Its assets are in the media library',
  failed: 'It has made no assets. `error` says why',
  cancelled: 'It was cancelled, and has made no assets',
})
export type RenderStateName = Static<typeof RenderState>
/** States that a rendering can leave. */
export const OPEN_STATES = ['queued', 'running'] as const satisfies readonly RenderStateName[]

export const StudioRender = named(
  'StudioRender',
  Type.Object({
    ...ResourceBase,
    workspaceId: Id,
    studioProjectId: { ...Id, description: 'The project' },
    version: Type.Integer({ minimum: 1, description: 'The version of the project that is rendered' }),
    format: OneOf(FORMATS, { description: 'Type of the files' }),
    pageNumbers: Type.Array(PageNumber, { description: 'The pages that are rendered' }),
    folderId: Nullable({ ...Id, description: 'The folder of the assets' }),
    status: RenderState,
    progress: Type.Integer({ minimum: 0, maximum: 100, description: 'Percent' }),
    jobId: { ...Id, description: 'The job that does the work, as `job.progress` names it' },
    assetIds: Type.Array(Id, {
      description: 'The asset of the video, or one for each page in the order of `pageNumbers`',
    }),
    error: Nullable(
      Type.String({
        description:
          'Why it failed, as text for people. It begins with the JSON pointer in `projectData` if a layer is the cause',
      }),
    ),
    createdBy: Id,
    finishedAt: Nullable(Timestamp),
  }),
)
export type StudioRenderData = Static<typeof StudioRender>

const TEMPLATE_KEYS = Object.keys(TEMPLATES) as [TemplateKey, ...TemplateKey[]]
const TemplateKeyField = OneOf(TEMPLATE_KEYS, { description: 'The key of a template' })
export const TemplatePath = Input({ templateKey: TemplateKeyField })

const MAX_PICTURES = 20
const MAX_BULLETS = 19

export const TemplateValuesInput = named(
  'StudioTemplateValues',
  Input(
    {
      title: Type.Optional(Text(1, 200, { description: 'The largest text' })),
      text: Type.Optional(Text(1, 1_000, { description: 'A quote, or a text below the title' })),
      author: Type.Optional(Text(1, 120, { description: 'The speaker or author' })),
      when: Type.Optional(Text(1, 120, { description: 'The time of an event, as people read it' })),
      place: Type.Optional(Text(1, 120, { description: 'The place of an event' })),
      bulletTexts: Type.Optional(
        Type.Array(Text(1, 400), { minItems: 1, maxItems: MAX_BULLETS, description: 'The points, one for each page' }),
      ),
      pictureAssetIds: Type.Optional(
        Type.Array(Id, { minItems: 1, maxItems: MAX_PICTURES, description: 'Pictures of the media library' }),
      ),
      pictureSeconds: Type.Optional(
        Type.Number({ minimum: 1, maximum: 30, description: 'How long each picture is shown. 4 by default' }),
      ),
      soundAssetId: Type.Optional({ ...Id, description: 'A sound, or a video whose sound is played' }),
      videoAssetId: Type.Optional({ ...Id, description: 'A video' }),
      transcriptId: Type.Optional({
        ...Id,
        description: 'The `_id` of the transcript in the result of an AI job of the kind `transcription`',
      }),
      pageFormat: Type.Optional(PageFormatField),
      backgroundColor: Type.Optional({ ...Color, description: 'Behind everything' }),
      textColor: Type.Optional({ ...Color, description: 'Of texts' }),
      accentColor: Type.Optional({ ...Color, description: 'Of what stands out' }),
    },
    { description: 'The values of a template. Each template says which ones it uses' },
  ),
)
export type TemplateValues = Static<typeof TemplateValuesInput>

export const NewFromTemplate = Input({ workspaceId: Id, name: Name, values: TemplateValuesInput })

const FIELD_NAMES = Object.keys(TemplateValuesInput.properties) as [keyof TemplateValues, ...(keyof TemplateValues)[]]
export const StudioTemplate = named(
  'StudioTemplate',
  Type.Object({
    templateKey: TemplateKeyField,
    name: Type.String({ description: 'Name of the template' }),
    description: Type.String({ description: 'What it shows' }),
    format: OneOf(FORMATS, { description: 'The type of the files that its projects are made for' }),
    pageFormat: PageFormatField,
    fields: Type.Array(
      Type.Object({
        field: OneOf(FIELD_NAMES, { description: 'The name in `values`' }),
        required: Type.Boolean({ description: 'Whether a project needs it' }),
      }),
      { description: 'The values that it uses' },
    ),
    previewUrl: Type.String({ description: 'A picture of what it makes, 360 pixels wide. It needs no credentials' }),
  }),
)
export type StudioTemplateData = Static<typeof StudioTemplate>
