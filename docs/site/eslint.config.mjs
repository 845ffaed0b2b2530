// What ESLint looks for in the scripts and style sheets of the live views and the website.
// Style is Prettier's business, so only rules that find mistakes are on.
import { readFileSync } from 'node:fs';
import css from '@eslint/css';
import js from '@eslint/js';
import globals from 'globals';

// A view's page has common.js and its own script, which share their names. The view of a whole
// translator is long, so its script comes in several files, which share theirs as well. Two views
// draw charts, with a file that both have.
const VIEWS = 'lecture_kit/live/';
const COMMON = `${VIEWS}common.js`;
const CHARTS = `${VIEWS}charts.js`;
const WITH_CHARTS = ['positions', 'rotary'].map((name) => `${VIEWS}${name}.js`);
const TRANSLATION = ['weights', 'models', 'translation', 'picture', 'blocks', 'apart'].map(
  (name) => `${VIEWS}${name}.js`,
);
const INSIDE = ['weights', 'copiers', 'inside'].map((name) => `${VIEWS}${name}.js`);
const namesIn = (file) =>
  [
    ...readFileSync(new URL(`../../${file}`, import.meta.url), 'utf8').matchAll(
      /^(?:const|let|function) (\w+)/gm,
    ),
  ].map(([, name]) => name);
const sharedNames = namesIn(COMMON);

const readOnly = (names) => Object.fromEntries(names.map((name) => [name, 'readonly']));

// files that may use the names of all others on their page
const sharing = (files, all) =>
  files.map((file) => ({
    files: [file],
    languageOptions: {
      globals: readOnly(all.filter((other) => other !== file).flatMap(namesIn)),
    },
    rules: { 'no-unused-vars': ['error', { vars: 'local' }] }, // another file may use them
  }));

export default [
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    ...js.configs.recommended,
    files: ['**/*.js'],
    languageOptions: { sourceType: 'script', globals: globals.browser },
  },
  {
    files: [COMMON],
    languageOptions: { globals: readOnly(['update']) }, // every view has one
    rules: { 'no-unused-vars': ['error', { vars: 'local' }] }, // it is the views that use them
  },
  {
    files: [`${VIEWS}*.js`],
    ignores: [COMMON],
    languageOptions: { globals: readOnly(sharedNames) },
  },
  { files: [CHARTS], rules: { 'no-unused-vars': ['error', { vars: 'local' }] } },
  { files: WITH_CHARTS, languageOptions: { globals: readOnly(namesIn(CHARTS)) } },
  ...sharing(TRANSLATION, TRANSLATION),
  ...sharing(INSIDE.slice(1), INSIDE),
  {
    files: ['docs/site/static/search.js'],
    languageOptions: { globals: { Scorer: 'readonly', Search: 'readonly' } }, // Sphinx's
  },
  {
    files: ['docs/site/slides/slides.js'],
    languageOptions: { globals: { Reveal: 'readonly', RevealNotes: 'readonly' } },
  },
  {
    ...js.configs.recommended,
    files: ['**/*.mjs'],
    languageOptions: { globals: globals.node },
  },
  {
    files: ['**/*.css'],
    plugins: { css },
    language: 'css/css',
    rules: {
      ...css.configs.recommended.rules,
      // colours come from page.py and from the website's theme, sizes from the scripts
      'css/no-invalid-properties': ['error', { allowUnknownVariables: true }],
      // for the eye alone: an older browser does without
      'css/use-baseline': [
        'error',
        { allowProperties: ['accent-color', 'print-color-adjust', 'text-wrap'] },
      ],
    },
  },
];
