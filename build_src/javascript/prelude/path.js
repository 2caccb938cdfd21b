// `require('path')`, as on POSIX. Texts only: nothing is opened.

// Resolves "." and ".." among the parts; those that lead above the start stay where `up` says so.
function pathParts(path, up) {
    const kept = [];
    const parts = split(path, '/');
    for (let i = 0; i < parts.length; i++) {
        if (parts[i] === '' || parts[i] === '.') continue;
        if (parts[i] !== '..') push(kept, parts[i]);
        else if (kept.length > 0 && kept[kept.length - 1] !== '..') kept.length -= 1;
        else if (up) push(kept, '..');
    }
    return kept;
}

function checkedPath(path) {
    if (typeof path !== 'string') throw wrongArgument('"path"', 'of type string', path);
    return path;
}

const isAbsolute = (path) => startsWith(checkedPath(path), '/');

function normalize(path) {
    const rooted = isAbsolute(path);
    const body = join(pathParts(path, !rooted), '/');
    const text = body !== '' && endsWith(path, '/') ? `${body}/` : body;
    if (rooted) return `/${text}`;
    if (text !== '') return text;
    return path !== '' && endsWith(path, '/') ? './' : '.';
}

function joinPaths(...paths) {
    const given = [];
    for (let i = 0; i < paths.length; i++) if (checkedPath(paths[i]) !== '') push(given, paths[i]);
    return given.length === 0 ? '.' : normalize(join(given, '/'));
}

function resolvePaths(...paths) {
    let path = '';
    for (let i = paths.length - 1; i >= 0 && !startsWith(path, '/'); i--) {
        if (checkedPath(paths[i]) !== '') path = path === '' ? paths[i] : `${paths[i]}/${path}`;
    }
    return `/${join(pathParts(path, false), '/')}`;
}

// [folder with its last slash, name], closing slashes left out of both.
function cutPath(path) {
    let end = checkedPath(path).length;
    while (end > 1 && path[end - 1] === '/') end--;
    let start = end;
    while (start > 0 && path[start - 1] !== '/') start--;
    return [slice(path, 0, start), slice(path, start, end)];
}

function dirname(path) {
    let [folder] = cutPath(path);
    if (folder === '') return startsWith(path, '/') ? '/' : '.';
    if (folder.length > 1) folder = slice(folder, 0, -1);
    return folder;
}

function basename(path, ending = '') {
    if (path === ending) return '';
    const name = cutPath(path)[1];
    return ending !== '' && name !== ending && endsWith(name, ending) ? slice(name, 0, -ending.length) : name;
}

function extname(path) {
    const name = basename(path);
    let dot = name.length - 1;
    while (dot >= 0 && name[dot] !== '.') dot--;
    return dot <= 0 || name === '..' ? '' : slice(name, dot);
}

function relative(from, to) {
    const start = pathParts(resolvePaths(from), false);
    const end = pathParts(resolvePaths(to), false);
    let same = 0;
    while (same < start.length && same < end.length && start[same] === end[same]) same++;
    const steps = [];
    for (let i = same; i < start.length; i++) push(steps, '..');
    for (let i = same; i < end.length; i++) push(steps, end[i]);
    return join(steps, '/');
}

function parsePath(path) {
    const root = isAbsolute(path) ? '/' : '';
    const base = basename(path);
    const ext = extname(path);
    const dir = cutPath(path)[0] === '' ? root : dirname(path);
    return { root, dir, base, ext, name: ext === '' ? base : slice(base, 0, -ext.length) };
}

function formatPath(parts) {
    const base = parts.base || `${parts.name ?? ''}${parts.ext ?? ''}`;
    const folder = parts.dir || parts.root;
    if (!folder) return base;
    return folder === parts.root ? `${folder}${base}` : `${folder}/${base}`;
}

function makePath() {
    const path = {
        resolve: resolvePaths,
        normalize,
        isAbsolute,
        join: joinPaths,
        relative,
        toNamespacedPath: (value) => value,
        dirname,
        basename,
        extname,
        format: formatPath,
        parse: parsePath,
        sep: '/',
        delimiter: ':',
        win32: null,
        posix: null,
    };
    path.posix = path;
    return path;
}
